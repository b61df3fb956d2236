// Formats times, byte counts and durations for people.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function timeText(microseconds: number): string {
  if (microseconds < 1_000) return `${microseconds} µs`
  if (microseconds < 1_000_000) return `${(microseconds / 1_000).toFixed(1)} ms`
  return `${(microseconds / 1_000_000).toFixed(2)} s`
}

export function bytesText(bytes: number): string {
  let unit = 0
  let amount = bytes
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024
    unit++
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}

/** Formats whole seconds: `12 s`, `59 min 55 s`, `3 h 20 min`. */
export function spanWords(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)]
  if (hours > 0) return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`
  const rest = Math.floor(seconds % 60)
  if (minutes === 0) return `${rest} s`
  return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`
}
