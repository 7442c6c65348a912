"""What must happen before what: accesses, where they meet, the signals that order them, the addresses
they use.
"""
