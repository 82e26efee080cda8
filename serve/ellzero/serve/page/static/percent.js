// Shares as percentages. The ends of an interval are rounded outwards, so that what is shown contains what was computed.

const STEPS = 1000; // tenths of a percent

/** "39.5 %"; `round` is Math.floor for a lower end, Math.ceil for an upper one. */
export const formatShare = (share, round = Math.round) => `${(round(share * STEPS) / 10).toFixed(1)} %`;

/** "0.415 ± 0.075" for a mean and half of its interval, so wide that it has the whole interval around the rounded mean. */
export function formatMean(mean, error) {
  const shown = mean.toFixed(3);
  if (error === null) return shown;
  return `${shown} ± ${(Math.ceil((error + Math.abs(mean - Number(shown))) * 1000) / 1000).toFixed(3)}`;
}
