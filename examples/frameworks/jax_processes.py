"""Every process of JAX learns of all others."""

import os

import jax
import jax.numpy as jnp
from jax.experimental.multihost_utils import process_allgather

jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"],
    int(os.environ["JAX_NUM_PROCESSES"]),
    int(os.environ["JAX_PROCESS_ID"]),
)
ranks = process_allgather(jnp.array([jax.process_index()]))
print(f"process {jax.process_index()} of {jax.process_count()} sees {ranks.ravel().tolist()}")
