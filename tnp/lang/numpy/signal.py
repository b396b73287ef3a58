"""Windows, convolution, polynomials."""
