"""The ops of KTIR, a file a family: what they bind their results to, which statements they emit."""
