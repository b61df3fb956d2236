// The media type of server-sent events.

const EVENT_STREAM = 'text/event-stream'

/** The type alone or with parameters; another one may begin the same. */
export function isEventStream(type: string | undefined): boolean {
  const { length } = EVENT_STREAM
  if (type === undefined || type.length < length) return false
  if (type.substring(0, length).toLowerCase() !== EVENT_STREAM) return false
  const next = type.charAt(length)
  return next === '' || next === ';' || next === ' ' || next === '\t'
}
