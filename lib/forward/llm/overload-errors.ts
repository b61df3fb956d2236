// Recognises a stream that begins with an error about the load of the provider: its status is 200, so only its first event
// tells that another provider should be called.

/** Statuses after which the next provider is called; Gemini reports them as the code of an error too. */
export const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** Types, codes and statuses of such errors: Anthropic, OpenAI, Gemini and servers that are compatible with them. */
const OVERLOAD_NAME =
  /overload|rate_limit|server_error|api_error|internal|unavailable|throttl|capacity|exhausted|too_many|timeout/i
const OVERLOAD_MESSAGE = /overload|at capacity|try again later/i

/** The name of the exception is in the head of Amazon's frames. */
const AMAZON_OVERLOAD =
  /:exception-type[^]{1,4}(?:throttling|serviceUnavailable|internalServer|modelTimeout|modelNotReady)Exception/

const EVENT_END = /\r\n\r\n|\n\n|\r\r/
const LINE_END = /\r\n|\n|\r/

export type StreamKind = 'events' | 'frames'

/** Whether the beginning of a stream shows its first event. */
export function hasFirstEvent(beginning: string, kind: StreamKind): boolean {
  return kind === 'frames' ? beginning !== '' : findFirstEvent(beginning) !== null
}

export function beginsWithOverload(beginning: string, kind: StreamKind): boolean {
  if (kind === 'frames') return AMAZON_OVERLOAD.test(beginning)
  const data = findFirstEvent(beginning)
  // Most first events are content, which is not parsed.
  return data !== null && data.includes('error') && isOverloadError(data)
}

/** The data of the first complete event; comments and pings are not content. */
function findFirstEvent(beginning: string): string | null {
  const blocks = beginning.replace(/^\uFEFF/, '').split(EVENT_END)
  // What follows the last end is incomplete.
  for (const block of blocks.slice(0, -1)) {
    const data = block
      .split(LINE_END)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .join('\n')
    if (data !== '' && !/"type"\s*:\s*"ping"/.test(data)) return data
  }
  return null
}

function isOverloadError(data: string): boolean {
  const event = parseObject(data)
  const error = event?.['error'] ?? (event?.['type'] === 'error' ? event : null)
  if (typeof error === 'string') return OVERLOAD_MESSAGE.test(error)
  if (typeof error !== 'object' || error === null) return false
  const { type, code, status, message } = error as Record<string, unknown>
  const names = [type, code, status]
  if (names.some((name) => RETRYABLE_STATUSES.has(Number(name)))) return true
  if (names.some((name) => typeof name === 'string' && OVERLOAD_NAME.test(name))) return true
  return typeof message === 'string' && OVERLOAD_MESSAGE.test(message)
}

function parseObject(data: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(data)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
