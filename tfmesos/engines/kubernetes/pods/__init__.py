"""What a pod of a run is made of. Pure; of the engine it may import only how pods are read."""
