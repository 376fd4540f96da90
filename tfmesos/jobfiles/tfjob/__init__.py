"""TFJobs of Kubeflow: ``document`` reads one, ``export`` writes one. Pure, as the folder above."""
