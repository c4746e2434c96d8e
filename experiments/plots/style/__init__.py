"""How every figure looks: canvas, colours, numbers as people write them, files."""
