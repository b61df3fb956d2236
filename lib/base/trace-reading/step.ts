// One event of a trace, as it came and taken apart. What it holds comes from elsewhere: nothing about it is certain.

export interface ShownEvent {
  /** Microseconds; null for a point in time. */
  readonly eventStart: number | null
  readonly eventEnd: number
  readonly severity: string
  readonly scope: readonly string[]
  readonly message: { readonly type: string } & Readonly<Record<string, unknown>>
}

export interface Step {
  /** The JSON it was sent as. */
  readonly text: string
  readonly event: ShownEvent
}

export function stepOf(text: string): Step {
  return { text, event: eventOf(valueOf(text)) }
}

/** Members of what is an object, and nothing of anything else. */
export function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Any value in one line; `-` for none. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { severity: 'error', message: { type: 'unreadable', text } }
  }
}

function eventOf(value: unknown): ShownEvent {
  const { eventStart, eventEnd, severity, scope, message } = members(value)
  const { type } = members(message)
  return {
    eventStart: typeof eventStart === 'number' ? eventStart : null,
    eventEnd: typeof eventEnd === 'number' ? eventEnd : 0,
    severity: typeof severity === 'string' ? severity : 'info',
    scope: Array.isArray(scope) ? scope.map(String) : [],
    message: { ...members(message), type: typeof type === 'string' ? type : 'unknown' },
  }
}
