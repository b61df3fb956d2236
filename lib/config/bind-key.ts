// The key of a port in statistics, dumps and source positions.

export function bindKeyOf(port: number): string {
  return `bind/${port}`
}
