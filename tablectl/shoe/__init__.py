"""Shoes and pads: bytes in, observations out, by declarative firmware profiles."""
