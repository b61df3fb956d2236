// Sources of the page's server that say where they were asked, and streams that a spec speaks on.

import type { EventOut } from '../../lib/base/sse/event-out.ts'
import { Watchers } from '../../lib/base/trace/watchers.ts'
import { watching } from '../../lib/base/trace/watching.ts'
import { problem } from '../../lib/ui/answers.ts'
import type { Place } from '../../lib/ui/api.ts'
import type { Ask } from '../../lib/ui/ask.ts'
import type { UiSources } from '../../lib/ui/service.ts'
import { traceAnswer } from '../../lib/ui/trace.ts'

/** Everybody who reads /api/live. */
export class Readers {
  readonly open: EventOut[] = []
  left = 0

  get sources(): UiSources {
    const watchers = new Watchers(() => {
      throw new Error('no request passes here')
    })
    return {
      ...parts(),
      trace: (ask) => traceAnswer(ask, (source) => watching(watchers, source)),
      live: (ask) => (ask.query.has('topics') ? this.#stream() : problem(400, 'no topics')),
    }
  }

  #stream() {
    return {
      kind: 'events' as const,
      open: (out: EventOut) => {
        this.open.push(out)
        out.write('event: config\ndata: {}\n\n')
        return () => {
          this.left++
        }
      },
    }
  }
}

/** Each part says what it was asked; the shapes are none of the server's business. */
function parts(): Omit<UiSources, 'trace' | 'live'> {
  const part = (name: string) => (ask: Ask, place: Place) =>
    ({ part: name, place, query: ask.query.toString() }) as never
  let generation = 0
  return {
    runtime: part('runtime'),
    map: part('map'),
    limits: part('limits'),
    logs: part('logs'),
    mcp: part('mcp'),
    config: part('config'),
    // Each question finds another configuration.
    generation: () => generation++,
  }
}
