// The small POST over HTTP/2 with h2load: without TLS, with TLS, and with a backend over HTTP/2.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { REQUEST_BODY } from './fixtures.ts'
import type { Http2Kind } from './h2-peers.ts'
import { cpuSpent, type Measure, type Subject } from './measure.ts'
import type { Sample } from './stats.ts'

const CONNECTIONS = 4
const STREAMS = 16
const LOAD_DEADLINE_MS = 60_000
/** Requests that compile the code of all peers. With fewer, a larger peer would be measured while it still compiles. */
const REHEARSAL = 20_000

export const h2c = measure('h2c', 'HTTP/2 in plain text')
export const h2Tls = measure('h2-tls', 'HTTP/2 over TLS')
export const h2Up: Measure = {
  ...measure('h2-up', 'HTTP/2 in plain text, to a backend asked by HTTP/2 over TLS'),
  backend: 'peers/h2-backend.js',
}

function measure(kind: Http2Kind, how: string): Measure {
  return {
    title: `Small JSON POST by ${how}, ${CONNECTIONS} connections of ${STREAMS} streams (h2load)`,
    speaks: kind,
    columns: [
      { key: 'rate', title: 'req/s', digits: 0 },
      { key: 'cpu', title: 'CPU µs/req', digits: 1 },
      { key: 'user', title: 'of it user', digits: 1 },
      { key: 'busy', title: 'core busy %', digits: 0 },
      { key: 'capacity', title: 'req/s a core', digits: 0 },
    ],
    leading: 'capacity',
    fresh: false,
    // The backend does not speak HTTP/2.
    rehearse: async (subject) => {
      if (subject.name !== 'direct') await asked(subject, kind, `-n ${REHEARSAL}`)
    },
    round: async (subject) => (subject.name === 'direct' ? {} : loaded(subject, kind)),
  }
}

async function loaded(subject: Subject, kind: Http2Kind): Promise<Sample> {
  const { proxy, options } = subject
  const seconds = Math.max(1, Math.round(options.seconds))
  const before = proxy.cpu()
  const done = await asked(subject, kind, `-D ${seconds}`)
  const cpu = [before, proxy.cpu()]
  return { rate: done / seconds, ...cpuSpent(cpu, done, seconds) }
}

/** Runs h2load for a number of requests or a time, and returns how many were answered. */
async function asked({ proxy, folder }: Subject, kind: Http2Kind, amount: string): Promise<number> {
  const body = join(folder, 'h2-body.json')
  writeFileSync(body, REQUEST_BODY)
  const url = `${kind === 'h2-tls' ? 'https' : 'http'}://127.0.0.1:${proxy.port}/echo`
  const words = `-t 1 -c ${CONNECTIONS} -m ${STREAMS} ${amount} -d ${body} -H content-type:application/json`
  const { stdout } = await promisify(execFile)('h2load', [...words.split(' '), url], {
    timeout: LOAD_DEADLINE_MS,
  })
  const [done, bad] = figuresOf(stdout)
  if (bad > 0 || done === 0) throw new Error(`h2load saw ${done} answers and ${bad} failures`)
  return done
}

/** Requests answered with 2xx, and all others that ended. */
function figuresOf(stdout: string): [done: number, bad: number] {
  const codes = /status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(stdout)
  if (codes === null) throw new Error('h2load printed no figures')
  const [, good = '0', ...others] = codes
  return [Number(good), others.reduce((sum, count) => sum + Number(count), 0)]
}
