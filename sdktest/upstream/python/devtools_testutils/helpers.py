def is_live():
    return True
