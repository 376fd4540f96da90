from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
ABOUT: dict[str, str] = {}
exec((HERE / "tfmesos" / "version.py").read_text(), ABOUT)

TEST = [
    "docutils",
    "hypothesis",
    "jsonschema",
    "mypy",
    "psutil",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "rich",
    "ruff",
    "selenium",
    "tensorboard",
    "types-PyYAML",
    "types-psutil",
    "vermin",
]

STACKS = ["py-spy>=0.4"]
TLS = ["cryptography>=42"]

BENCH = ["matplotlib"]

DOCS = ["furo", "sphinx"]

setup(
    name="tfmesos",
    version=ABOUT["__version__"],
    description=(
        "Run distributed TensorFlow with one command: on this machine, Kubernetes, Slurm or Mesos"
    ),
    long_description=(HERE / "README.rst").read_text(),
    long_description_content_type="text/x-rst",
    author="the tfmesos authors",
    keywords="tensorflow keras distributed-training launcher kubernetes slurm mesos",
    license="BSD-3-Clause",
    python_requires=">=3.11",
    # Said in full, so that an editable install is one line of a .pth file, and not a finder that
    # takes every start of a Python another 20 ms.
    package_dir={"": "."},
    packages=find_packages(include=["tfmesos", "tfmesos.*"]),
    package_data={"tfmesos": ["py.typed"], "tfmesos.runs.page": ["static/*"]},
    zip_safe=False,
    install_requires=["h11>=0.14", "PyYAML>=6.0", "wsproto>=1.2"],
    extras_require={
        "tf": ["tensorflow>=2.16", "tensorboard"],
        "tls": TLS,
        "zk": ["kazoo>=2.9"],
        "stacks": STACKS,
        "bench": BENCH,
        "release": ["build", "twine"],
        "mutants": ["mutmut>=3.8"],
        "docs": DOCS,
        "test": [*TEST, *TLS, *STACKS, *BENCH, *DOCS],
    },
    entry_points={"console_scripts": ["tfrun = tfmesos.tfrun:script"]},
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: System :: Clustering",
        "Topic :: System :: Distributed Computing",
        "Typing :: Typed",
    ],
)
