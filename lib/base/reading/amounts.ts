// Amounts as people read them.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function timeText(microseconds: number): string {
  if (microseconds < 1_000) return `${microseconds} µs`
  if (microseconds < 1_000_000) return `${(microseconds / 1_000).toFixed(1)} ms`
  return `${(microseconds / 1_000_000).toFixed(2)} s`
}

export function bytesText(bytes: number): string {
  let unit = 0
  let left = bytes
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024
    unit++
  }
  return `${unit === 0 ? left : left.toFixed(1)} ${UNITS[unit]}`
}
