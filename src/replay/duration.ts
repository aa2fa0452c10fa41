/** A duration or a time of day as H:MM:SS with at least two digits of hours. */
export function durationText(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  const parts = [whole / 3600, (whole % 3600) / 60, whole % 60];
  return `${seconds < 0 ? '-' : ''}${parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')}`;
}
