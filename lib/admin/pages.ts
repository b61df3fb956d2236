// The page for people who look for something: an index of what can be asked.

import type { Endpoints } from '../base/endpoints.ts'
import { UI_PATH } from '../base/places/ui-paths.ts'
import { VERSION } from '../base/version.ts'
import { answer, answerPage } from './server.ts'

/** Path, method, what it does. Nothing here comes from a client or a configuration. */
const ROWS: readonly (readonly [path: string, methods: string, words: string])[] = [
  ['/config_dump', 'GET', 'the configuration in force, without secrets'],
  ['/debug/trace', 'GET, POST', 'a trace of the next request; <code>?expression=</code> picks it'],
  ['/logging', 'GET, POST', 'the log filter; POST <code>?level=info,mcp=debug</code> changes it'],
  ['/memory', 'GET', 'memory of the process, and what is counted in it'],
  ['/debug/pprof/profile', 'GET', 'CPU profile; <code>?seconds=10&amp;frequency=100</code>'],
  ['/debug/pprof/heap', 'GET', 'heap profile of what is alive'],
  ['/debug/tasks', 'GET', 'what runs now: connections, requests, sessions, child processes'],
  ['/quitquitquit', 'POST', 'graceful shutdown'],
  [UI_PATH, 'GET', 'the web UI: all of this, and the traffic, to look at'],
]

/** Without those that this machine does not have. */
export function pageEndpoints(others: Endpoints): Endpoints {
  const rows = ROWS.filter(([path]) => path === UI_PATH || others[path] !== undefined)
  const index = pageOf('gateway', `<p>Admin interface of gateway ${VERSION}.</p>\n${tableOf(rows)}`)
  return { '/': { GET: (_request, response) => answerPage(response, index) } }
}

/** Graceful shutdown, once the answer is out or nobody waits for it. */
export function quitEndpoints(quit: () => void): Endpoints {
  return {
    '/quitquitquit': {
      POST: (_request, response) => {
        response.once('close', quit)
        answer(response, 200, 'shutdown now')
      },
    },
  }
}

function tableOf(rows: typeof ROWS): string {
  const lines = rows.map(([path, methods, words]) => {
    const name = methods.startsWith('GET') ? `<a href="${path}">${path}</a>` : path
    return `<tr><td>${name}</td><td>${methods}</td><td>${words}</td></tr>`
  })
  return `<table>\n<tr><th>path</th><th>method</th><th>what</th></tr>\n${lines.join('\n')}\n</table>`
}

function pageOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`
}
