// Picks who watches an answer: by what its head says it is made of.

import type { Tap } from '../../../base/types.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import type { LlmFormat, Seen } from '../types.ts'
import { answerDialectOf } from '../usage/dialects.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { DecodedWatch } from './decoded.ts'
import { decoderFor } from './decoder.ts'
import { EventWatch } from './events.ts'
import { SniffedWatch } from './sniffed.ts'
import { UnreadWatch } from './unread.ts'

export interface Watch extends Tap {
  /** As far as it got; final once `whenDone` has called back. */
  readonly seen: Seen
  /** Behind `end`: calls back at once if nothing is left to be read, otherwise as soon as that has been done or given up. */
  whenDone(callback: () => void): void
}

/** `text`: its first byte tells what it is. */
type Kind = 'events' | 'text' | 'unreadable'

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

/** The clock is that of `performance.now()`. */
export function watchOf(
  format: LlmFormat,
  head: ResponseHead,
  now: () => number = () => performance.now(),
): Watch {
  const dialect = answerDialectOf(format)
  const kind = kindOf(head, dialect)
  if (kind === 'unreadable') return new UnreadWatch(dialect, now)
  const coding = codingOf(head)
  const reader = kind === 'events' ? EventWatch : SniffedWatch
  if (coding === 'identity') return new reader(dialect, now)
  const decoder = decoderFor(coding)
  if (decoder === null) return new UnreadWatch(dialect, now)
  return new DecodedWatch(new reader(dialect, now), decoder)
}

function kindOf(head: ResponseHead, { content }: AnswerDialect): Kind {
  const [type = ''] = (head.get('content-type') ?? '').split(';')
  const essence = type.trim().toLowerCase()
  if (essence === 'text/event-stream') return 'events'
  if (JSON_TYPE.test(essence)) return 'text'
  // Clients do not look at the type of what they asked for; where anything may be, it is taken at its word.
  const isVague = essence === '' || essence === 'text/plain'
  return isVague && content === 'text' ? 'text' : 'unreadable'
}

/** Several codings, one upon the other, are nobody's we know. */
function codingOf(head: ResponseHead): string {
  const codings = head.all('content-encoding').join(',').toLowerCase().split(',')
  const named = codings.map((coding) => coding.trim()).filter((coding) => coding !== '')
  return named.length > 1 ? 'several' : (named[0] ?? 'identity')
}
