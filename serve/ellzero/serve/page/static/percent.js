// Shares as percentages. The ends of an interval are rounded outwards, so that what is shown contains what was computed.

const STEPS = 1000; // tenths of a percent

/** "39.5 %"; `round` is Math.floor for a lower end, Math.ceil for an upper one. */
export const formatShare = (share, round = Math.round) => `${(round(share * STEPS) / 10).toFixed(1)} %`;

/** "0.415 ± 0.074" for a mean and half of its interval, which is rounded up; only the mean if there is no interval. */
export function formatMean(mean, error) {
  return error === null ? mean.toFixed(3) : `${mean.toFixed(3)} ± ${(Math.ceil(error * 1000) / 1000).toFixed(3)}`;
}
