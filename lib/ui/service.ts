// The page's server: the page, the files it is made of, and what it reads. It only ever reads; whatever changes something
// stands elsewhere, on the admin interface alone.

import type { EventOut } from '../base/event-out.ts'
import { partPath, SIGNED_IN_PATH, UI_PARTS, UI_PATH } from '../base/ui-paths.ts'
import type { UiPart } from '../base/ui-paths.ts'
import { assetAnswer, jsonAnswer, pageAnswer, problem, unkept } from './answers.ts'
import type { Place } from './api.ts'
import type { Answer, Ask } from './ask.ts'
import { Assets } from './assets.ts'
import type { UiSources } from './sources.ts'

/** Event streams at a time, wherever they are read. */
export const MAX_READERS = 32

const METHODS: readonly string[] = ['GET', 'HEAD']

const PARTS: ReadonlyMap<string, UiPart> = new Map(UI_PARTS.map((part) => [partPath(part), part]))

export class UiService {
  readonly #sources: UiSources
  readonly #assets = new Assets()
  readonly #readers = new Map<EventOut, Place>()

  constructor(sources: UiSources) {
    this.#sources = sources
  }

  /** Null for a path that is not one of its own. */
  answer(ask: Ask, place: Place): Answer | null {
    const { path, method } = ask
    if (!isBelow(path, UI_PATH) && !isBelow(path, '/api')) return null
    const answers = this.#answersTo(path, place)
    if (answers === null) return problem(404, 'not found')
    if (!METHODS.includes(method))
      return problem(405, `got ${method}, expected ${METHODS.join(' or ')}`, [
        ['allow', METHODS.join(', ')],
      ])
    return answers(ask)
  }

  /**
   * Ends what is read on gateways' listeners: when one stops, or when others may read it from now on than before. Browsers
   * ask again.
   */
  endListeners(): void {
    for (const [reader, place] of this.#readers) if (place === 'listener') reader.end()
  }

  #answersTo(path: string, place: Place): ((ask: Ask) => Answer) | null {
    if (path === UI_PATH || path === `${UI_PATH}/`)
      return (ask) => pageAnswer(this.#assets.page, ask)
    if (path === SIGNED_IN_PATH && place === 'admin')
      return (ask) => unkept(pageAnswer(this.#assets.page, { ...ask, ifNoneMatch: undefined }))
    const part = PARTS.get(path)
    if (part !== undefined) return (ask) => this.#tell(part, ask, place)
    const asset = this.#assets.find(path)
    return asset === undefined ? null : (ask) => assetAnswer(asset, ask)
  }

  #tell(part: UiPart, ask: Ask, place: Place): Answer {
    const sources = this.#sources
    if (part !== 'trace' && part !== 'live') return jsonAnswer(200, sources[part](ask, place))
    const answer = sources[part](ask, place)
    return answer.kind === 'events' ? this.#counted(answer.open, place) : answer
  }

  #counted(open: (out: EventOut) => () => void, place: Place): Answer {
    if (this.#isFull)
      return problem(503, `too many readers: ${MAX_READERS} event streams are open already`)
    return {
      kind: 'events',
      open: (out) => {
        // Others came between the question and its answer.
        if (this.#isFull) {
          out.end()
          return () => {}
        }
        const leave = open(out)
        this.#readers.set(out, place)
        return () => {
          this.#readers.delete(out)
          leave()
        }
      },
    }
  }

  get #isFull(): boolean {
    return this.#readers.size >= MAX_READERS
  }
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}
