"""Author loops become iteration dims where that is provably the same."""
