"""Integers known when scheduling: linear forms and affine expressions over them."""
