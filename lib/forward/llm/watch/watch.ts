// Picks who watches an answer: by what its head says it is made of.

import type { Tap } from '../../../base/types.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import { essenceOf, isJsonType } from '../media-type.ts'
import type { LlmFormat, Seen } from '../types.ts'
import { answerDialectOf } from '../usage/dialects.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { DecodedWatch } from './decoded.ts'
import { decoderFor } from './decoder.ts'
import { EventWatch } from './events.ts'
import { FrameWatch } from './frames.ts'
import { SniffedWatch } from './sniffed.ts'
import { UnreadWatch } from './unread.ts'

export interface Watch extends Tap {
  /** As far as it got; final once `whenDone` has called back. */
  readonly seen: Seen
  /** Behind `end`: calls back at once if nothing is left to be read, otherwise as soon as that has been done or given up. */
  whenDone(callback: () => void): void
}

/** Nobody takes these for words. */
const MEDIA_TYPE = /^(?:image|audio|video|font)\//

const clock = (): number => performance.now()

type Reader = new (dialect: AnswerDialect, now: () => number) => Watch

/** The clock is that of `performance.now()`. */
export function watchOf(format: LlmFormat, head: ResponseHead, now: () => number = clock): Watch {
  const dialect = answerDialectOf(format)
  const essence = essenceOf(head.get('content-type') ?? '')
  const reader = readerOf(essence, dialect)
  const unread = MEDIA_TYPE.test(essence) ? 'other' : dialect.unread
  if (reader === null) return new UnreadWatch(dialect, now, unread)
  const coding = codingOf(head)
  if (coding === 'identity') return new reader(dialect, now)
  const decoder = decoderFor(coding)
  if (decoder === null) return new UnreadWatch(dialect, now, unread)
  return new DecodedWatch(new reader(dialect, now), decoder)
}

/** null for what nobody here can read. */
function readerOf(essence: string, { content }: AnswerDialect): Reader | null {
  if (essence === 'text/event-stream') return EventWatch
  if (essence === 'application/vnd.amazon.eventstream') return FrameWatch
  if (isJsonType(essence)) return SniffedWatch
  // Clients do not look at the type of what they asked for; where anything may be, it is taken at its word.
  const isVague = essence === '' || essence === 'text/plain'
  return isVague && content === 'text' ? SniffedWatch : null
}

/** Several codings, one upon the other, are nobody's we know. */
function codingOf(head: ResponseHead): string {
  const written = head.all('content-encoding')
  if (written.length === 0) return 'identity'
  const codings = written.join(',').toLowerCase().split(',')
  const named = codings.map((coding) => coding.trim()).filter((coding) => coding !== '')
  return named.length > 1 ? 'several' : (named[0] ?? 'identity')
}
