"""ATen's operators, a module a family: what nodes each one is, what it does at kinks, and where it jumps. The table is table.py."""
