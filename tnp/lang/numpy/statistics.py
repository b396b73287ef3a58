"""Averages, order statistics, histograms."""
