// Parses and formats durations of the configuration: `500ms`, `10s`, `1m`, `1h30m`.

export const DURATION_PATTERN =
  /^(?=\d)(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,12})ms)?$/

/** A longer Node timer overflows and fires immediately. */
export const MAX_DURATION_MS = 24 * 86_400_000

/** Milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const parts = DURATION_PATTERN.exec(text)
  if (parts === null) return undefined
  const [hours, minutes, seconds, milliseconds] = parts.slice(1).map((part) => Number(part ?? 0))
  return hours! * 3_600_000 + minutes! * 60_000 + seconds! * 1000 + milliseconds!
}

const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** The duration in config syntax, in the largest unit that divides it. */
export function formatDuration(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds % length === 0)
  if (milliseconds === 0 || unit === undefined) return `${milliseconds}ms`
  return `${milliseconds / unit[1]}${unit[0]}`
}
