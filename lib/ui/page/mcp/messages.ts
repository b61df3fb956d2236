// JSON-RPC as an MCP client meets it: what comes, and what goes wrong. Everything here was written by others.

export type Members = Readonly<Record<string, unknown>>

/** What the server itself says is wrong. */
export class RpcFault extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** An answer that is no message, but a status and perhaps words. */
export class HttpFault extends Error {
  readonly status: number

  constructor(status: number, words: string) {
    super(words === '' ? `status ${status}` : words)
    this.status = status
  }
}

/** What browsers throw when nobody answers is a TypeError with words of their own. */
export function faultWords(error: unknown): string {
  if (error instanceof TypeError)
    return 'The gateway went away before it answered. Try again when it is back.'
  return error instanceof Error ? error.message : String(error)
}

export type Incoming =
  | { readonly kind: 'answer'; readonly id: unknown; readonly result: Members }
  | { readonly kind: 'fault'; readonly id: unknown; readonly fault: RpcFault }
  | { readonly kind: 'request'; readonly id: unknown; readonly method: string }
  | { readonly kind: 'notice'; readonly method: string; readonly params: Members }

/** What is no message is passed over. */
export function incomingIn(text: string): Incoming[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return []
  }
  return (Array.isArray(value) ? (value as unknown[]) : [value]).flatMap((one) => {
    const message = membersOf(one)
    return (message === null ? null : incomingOf(message)) ?? []
  })
}

function incomingOf(message: Members): Incoming | null {
  const { id, method, params, result, error } = message
  if (typeof method === 'string')
    return id === undefined
      ? { kind: 'notice', method, params: membersOf(params) ?? {} }
      : { kind: 'request', id, method }
  const told = membersOf(error)
  if (told !== null) {
    const { code, message: words, data } = told
    const number = typeof code === 'number' ? code : 0
    return { kind: 'fault', id, fault: new RpcFault(number, textOf(words), data) }
  }
  const found = membersOf(result)
  return found === null ? null : { kind: 'answer', id, result: found }
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
