// What goes wrong between the playground and an MCP server, and how unknown JSON of a server is read.

export type Members = Readonly<Record<string, unknown>>

/** A JSON-RPC error of the server. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** An HTTP response that is not a JSON-RPC message. */
export class HttpError extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(text === '' ? `status ${status}` : text)
    this.status = status
  }
}

/** When no response comes, browsers throw a TypeError with a text of their own. */
export function errorText(error: unknown): string {
  if (error instanceof TypeError)
    return 'The gateway closed the connection before it responded. Try again when it is available.'
  return error instanceof Error ? error.message : String(error)
}

/** Null for anything but an object. */
export function membersOf(value: unknown): Members | null {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Members) : null
}

/** '' for anything but text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

/** The objects of a list. */
export function objectsIn(value: unknown): Members[] {
  return listOf(value)
    .map(membersOf)
    .filter((one) => one !== null)
}
