from .tfrun import script

if __name__ == "__main__":
    script()
