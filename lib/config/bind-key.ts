// What an open port is called, in statistics, dumps and places of the configuration.

export function bindKeyOf(port: number): string {
  return `bind/${port}`
}
