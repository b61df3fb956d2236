// Sources for the page server that echo their requests, and event streams that a spec writes to.

import type { EventWriter } from '../../lib/text/sse-output.ts'
import { startTrace, TraceWatchers } from '../../lib/trace/trace-watchers.ts'
import { createErrorResponse } from '../../lib/admin/page-api/page-request.ts'
import type { UiInterface } from '../../lib/admin/page-api/page-api-types.ts'
import type { UiRequest } from '../../lib/admin/page-api/page-request.ts'
import type { UiSources } from '../../lib/admin/page-api/page-service.ts'
import { createTraceResponse } from '../../lib/admin/page-api/read-api.ts'

/** All readers of /api/live. */
export class Readers {
  readonly open: EventWriter[] = []
  left = 0

  get sources(): UiSources {
    const watchers = new TraceWatchers(() => {
      throw new Error('no request passes here')
    })
    return {
      ...parts(),
      trace: (ask) => createTraceResponse(ask, (source) => startTrace(watchers, source)),
      live: (ask) =>
        ask.query.has('topics') ? this.#stream() : createErrorResponse(400, 'no topics'),
    }
  }

  #stream() {
    return {
      kind: 'events' as const,
      open: (out: EventWriter) => {
        this.open.push(out)
        out.write('event: config\ndata: {}\n\n')
        return () => {
          this.left++
        }
      },
    }
  }
}

/** Each part echoes its request; the server does not depend on the shapes. */
function parts(): Omit<UiSources, 'trace' | 'live'> {
  const part = (name: string) => (ask: UiRequest, place: UiInterface) =>
    ({ part: name, place, query: ask.query.toString() }) as never
  let generation = 0
  return {
    runtime: part('runtime'),
    map: part('map'),
    limits: part('limits'),
    logs: part('logs'),
    mcp: part('mcp'),
    config: part('config'),
    // Each request finds another configuration.
    generation: () => generation++,
  }
}
