"""Calls of mir_eval's functions on data of the sizes that its users have."""

import mir_eval
import numpy as np

rng = np.random.default_rng(0)


def beats(n):
    """Beat times of a piece and what a tracker found of them."""
    reference = 6.0 + np.cumsum(rng.normal(0.5, 0.01, n))
    estimated = np.sort(reference + rng.normal(0.0, 0.03, n))
    return reference, estimated[rng.random(n) > 0.05]


def notes(n):
    onsets = np.sort(rng.uniform(0.0, n * 0.15, n))
    intervals = np.column_stack([onsets, onsets + rng.gamma(3.0, 0.1, n) + 0.05])
    pitches = 440.0 * 2.0 ** ((rng.integers(40, 90, n) - 69) / 12)
    moved = np.maximum(intervals + rng.normal(0.0, 0.025, (n, 1)), 0.0)
    moved[:, 1] += np.abs(rng.normal(0.0, 0.02, n))
    keep = rng.random(n) > 0.1
    return intervals, pitches, moved[keep], pitches[keep] * 2.0 ** (rng.normal(0.0, 0.2, n)[keep] / 12)


def melody(n, hop=0.01):
    times = np.arange(n) * hop
    frequencies = 220.0 * 2.0 ** (np.cumsum(rng.normal(0.0, 0.02, n)) * 0.1)
    frequencies[np.sin(times * 0.9) > 0.6] = 0.0
    return times, frequencies


def structure(n, length=240.0, names="ABCD"):
    """Segments of a song that is `length` seconds long."""
    inner = np.sort(rng.choice(np.arange(1, int(length * 2)), n - 1, replace=False)) / 2.0
    bounds = np.concatenate([[0.0], inner, [length]])
    return np.column_stack([bounds[:-1], bounds[1:]]), [names[i] for i in rng.integers(0, len(names), n)]


def hierarchy(length, sizes):
    """Nested segmentations: each layer splits the one above it."""
    inner = rng.choice(np.arange(1, int(length * 2)), sizes[-1] - 1, replace=False) / 2.0
    bounds = np.concatenate([[0.0, length], inner])
    layers = [np.sort(bounds[: n + 1]) for n in sizes]
    return [np.column_stack([b[:-1], b[1:]]) for b in layers]


def chords(n):
    roots = ["C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B"]
    qualities = ["maj", "min", "7", "maj7", "min7", "sus4", "dim"]
    return [f"{roots[i]}:{qualities[j]}" for i, j in zip(rng.integers(0, 12, n), rng.integers(0, 7, n))]


def polyphony(n):
    frames = [np.sort(55.0 * 2.0 ** (rng.choice(48, rng.integers(0, 6), replace=False) / 12)) for _ in range(n)]
    return np.arange(n) * 0.01, frames


def test_beat_cemgil():
    for n in (2000, 3000):
        reference, estimated = beats(n)
        mir_eval.beat.cemgil(reference, estimated)


def test_beat_continuity():
    for n in (600, 900):
        reference, estimated = beats(n)
        mir_eval.beat.continuity(reference, estimated)


def test_beat_information_gain():
    for n in (600, 900):
        reference, estimated = beats(n)
        mir_eval.beat.information_gain(reference, estimated)


def test_beat_p_score():
    for n in (200, 300):
        reference, estimated = beats(n)
        mir_eval.beat.p_score(reference, estimated)


def test_onset_f_measure():
    for n in (2000, 3000):
        reference, estimated = beats(n)
        mir_eval.onset.f_measure(reference, estimated)


def test_transcription_match_notes():
    for n in (1000, 1500):
        ref_intervals, ref_pitches, est_intervals, est_pitches = notes(n)
        mir_eval.transcription.match_notes(ref_intervals, ref_pitches, est_intervals, est_pitches)


def test_transcription_velocity_match_notes():
    ref_intervals, ref_pitches, est_intervals, est_pitches = notes(1000)
    mir_eval.transcription_velocity.match_notes(
        ref_intervals,
        ref_pitches,
        rng.integers(20, 110, len(ref_pitches)),
        est_intervals,
        est_pitches,
        rng.integers(20, 110, len(est_pitches)),
    )


def test_melody_to_cent_voicing():
    for n in (30000, 45000):
        ref_time, ref_freq = melody(n)
        est_time, est_freq = melody(int(n * 1.7), hop=0.0058)
        mir_eval.melody.to_cent_voicing(ref_time, ref_freq, est_time, est_freq)


def test_melody_overall_accuracy():
    for n in (30000, 45000):
        freq = melody(n)[1]
        ref_freq, ref_voicing = mir_eval.melody.freq_to_voicing(freq)
        est_freq, est_voicing = mir_eval.melody.freq_to_voicing(freq * 2.0 ** (rng.normal(0.0, 0.4, n) / 12))
        mir_eval.melody.overall_accuracy(
            ref_voicing, mir_eval.melody.hz2cents(ref_freq), est_voicing, mir_eval.melody.hz2cents(est_freq)
        )


def test_melody_raw_chroma_accuracy():
    for n in (30000, 45000):
        voicing = (rng.random(n) > 0.3).astype(float)
        ref_cent = 4800.0 + np.cumsum(rng.normal(0.0, 3.0, n))
        est_cent = ref_cent + rng.normal(0.0, 30.0, n) + 1200.0 * rng.integers(-1, 2, n)
        mir_eval.melody.raw_chroma_accuracy(voicing, ref_cent, voicing, est_cent)


def test_multipitch_metrics():
    ref_time, ref_freqs = polyphony(2000)
    est_freqs = [f * 2.0 ** (rng.normal(0.0, 0.3, f.size) / 12) for f in ref_freqs]
    mir_eval.multipitch.metrics(ref_time, ref_freqs, ref_time, est_freqs)


def test_segment_pairwise():
    for length in (180.0, 270.0):
        ref_intervals, ref_labels = structure(14, length)
        est_intervals, est_labels = structure(18, length)
        mir_eval.segment.pairwise(ref_intervals, ref_labels, est_intervals, est_labels)


def test_segment_mutual_information():
    for length in (240.0, 360.0):
        ref_intervals, ref_labels = structure(20, length, "ABCDEF")
        est_intervals, est_labels = structure(26, length, "ABCDEFG")
        mir_eval.segment.mutual_information(ref_intervals, ref_labels, est_intervals, est_labels)


def test_hierarchy_tmeasure():
    reference = hierarchy(60.0, (1, 4, 12))
    estimated = hierarchy(60.0, (1, 5, 14))
    mir_eval.hierarchy.tmeasure(reference, estimated, window=10.0, frame_size=0.2)


def test_chord_encode_many():
    for n in (1500, 2250):
        labels = chords(n)
        mir_eval.chord.encode_many(labels)


def test_chord_tetrads():
    reference = chords(1000)
    estimated = [a if rng.random() > 0.3 else b for a, b in zip(reference, chords(1000))]
    mir_eval.chord.tetrads(reference, estimated)


def test_sonify_time_frequency():
    gram = np.maximum(rng.normal(-0.5, 1.0, (24, 40)), 0.0)
    frequencies = 110.0 * 2.0 ** (np.arange(24) / 12)
    mir_eval.sonify.time_frequency(gram, frequencies, np.arange(40) * 0.1, 8000)


def test_sonify_pitch_contour():
    for n in (500, 750):
        times, frequencies = melody(n)
        mir_eval.sonify.pitch_contour(times, frequencies, 22050)
