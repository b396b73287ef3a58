"""OpInfos: fft."""
