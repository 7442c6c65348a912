"""What cores are to each other: who talks to whom, who is like whom, who touches what others write."""
