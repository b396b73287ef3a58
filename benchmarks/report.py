"""stub"""
def report(*a): return ""
def plot(*a): pass
