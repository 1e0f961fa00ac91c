"""Makes boundaries.json: what scipy says about the boundaries of every test.

    pip install scipy && python boundaries.py > boundaries.json
"""

import json

import numpy
import scipy
from scipy import stats

SAMPLES = {
    "two": [10.0, 12.0],
    "three": [1.0, 2.0, 4.0],
    "steady": [100.0, 101.5, 99.25, 100.75, 98.0, 102.125, 100.0, 99.5],
    "tiny": [1.1e-9, 1.3e-9, 0.9e-9, 1.05e-9, 1.2e-9],
    "huge": [3.1e15, 3.4e15, 2.9e15, 3.05e15, 3.3e15, 3.0e15],
    "skewed": [1.0, 1.0, 1.0, 1.5, 9.0, 2.0, 1.0, 30.0, 1.25, 1.0],
}
generator = numpy.random.default_rng(7)
SAMPLES["many"] = generator.lognormal(3.0, 0.2, 300).tolist()
SAMPLES["a thousand and one"] = generator.normal(5000.0, 3.0, 1001).tolist()
SHARES = [0.0, 0.05, 0.5, 1.5, 3.0]
PROBABILITIES = [0.5, 0.51, 0.9, 0.975, 0.98, 0.999, 0.9999999]


def limits(test, sample, boundary):
    x = numpy.array(sample)
    n, mean, sd = len(x), x.mean(), x.std(ddof=1)
    if test == "percentage":
        return mean, mean - mean * boundary, mean + mean * boundary
    if test == "z_score":
        upper = stats.norm.ppf(boundary, loc=mean, scale=sd)
        return mean, 2 * mean - upper, upper
    if test == "t_test":
        upper = stats.t.ppf(boundary, n - 1, loc=mean, scale=sd * numpy.sqrt(1 + 1 / n))
        return mean, 2 * mean - upper, upper
    if test == "log_normal":
        logs = numpy.log(x)
        baseline = numpy.exp(logs.mean())
        upper = stats.lognorm.ppf(boundary, logs.std(ddof=1), scale=baseline)
        return baseline, 2 * baseline - upper, upper
    median = numpy.median(x)
    if test == "iqr":
        reach = boundary * stats.iqr(x)
    else:
        reach = boundary * median * stats.iqr(numpy.abs(numpy.diff(x) / x[:-1]))
    return median, median - reach, median + reach


def probability(test, sample, value):
    x = numpy.array(sample)
    n, mean, sd = len(x), x.mean(), x.std(ddof=1)
    if test == "z_score":
        return stats.norm.sf(value, loc=mean, scale=sd)
    if test == "t_test":
        return stats.t.sf(value, n - 1, loc=mean, scale=sd * numpy.sqrt(1 + 1 / n))
    logs = numpy.log(x)
    return stats.lognorm.sf(value, logs.std(ddof=1), scale=numpy.exp(logs.mean()))


cases, tails = [], []
for name, sample in SAMPLES.items():
    for test in ["percentage", "iqr", "delta_iqr", "z_score", "t_test", "log_normal"]:
        distribution = test in ("z_score", "t_test", "log_normal")
        for boundary in PROBABILITIES if distribution else SHARES:
            baseline, lower, upper = map(float, limits(test, sample, boundary))
            cases.append([name, test, boundary, baseline, lower, upper])
        if distribution:
            for factor in [0.9, 1.0, 1.05, 1.5]:
                value = float(numpy.mean(sample) * factor)
                tails.append([name, test, value, float(probability(test, sample, value))])

print(json.dumps({
    "made by": f"scipy {scipy.__version__}, numpy {numpy.__version__}",
    "samples": SAMPLES,
    "boundaries: sample, test, boundary, baseline, lower limit, upper limit": cases,
    "tails: sample, test, value, probability of a larger one": tails,
}, indent=0))
