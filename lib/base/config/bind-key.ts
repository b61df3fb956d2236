// What an open port is called, in statistics, dumps and places of the configuration.

export function bindKey(port: number): string {
  return `bind/${port}`
}
