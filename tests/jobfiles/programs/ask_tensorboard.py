"""Ask the TensorBoard at an address, as soon as it answers, whether it is one."""

import sys
import time
import urllib.request

while True:
    try:
        with urllib.request.urlopen(f"http://{sys.argv[1]}/") as answer:
            print(answer.status, b"TensorBoard" in answer.read())
            break
    except OSError:
        time.sleep(0.1)
