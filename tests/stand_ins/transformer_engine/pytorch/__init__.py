__version__ = "2.20.0.dev0"
DEVICE_TYPES = ("cpu",)
