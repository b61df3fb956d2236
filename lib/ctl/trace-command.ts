// gwctl proxy trace: traces the next request, sends a request and traces it, or shows a saved trace.

import { once } from 'node:events'
import { labelOf, summaryOf } from '../trace-view/event-summary.ts'
import { explain, sentenceOf } from '../trace-view/explain-outcome.ts'
import { stepOf } from '../trace-view/trace-event.ts'
import { createTraceToken } from '../trace-view/trace-token.ts'
import type { Step } from '../trace-view/trace-event.ts'
import {
  adminAddress,
  hasOption,
  optionValue,
  portOption,
  resourceArgument,
} from './admin-client.ts'
import { CurlRequest, hasUrl } from './curl-request.ts'
import type { Invocation } from './gwctl-commands.ts'
import { plain, plainJson } from './terminal-text.ts'
import { openTraceFile, openTraceStream, TracedRequest } from './trace-source.ts'
import type { TraceSource } from './trace-source.ts'

/** A longer trace is printed, but its outcome is not explained. */
const MAX_STEPS = 10_000

export async function trace(invocation: Invocation): Promise<void> {
  checkOptions(invocation)
  const request = requestOf(invocation)
  const source = await openSource(invocation, request)
  const isRaw = hasOption(invocation, 'raw') || !process.stdout.isTTY
  try {
    if (isRaw) return await printEvents(source, request, 'json')
    if (process.env['TERM'] === 'dumb') return await printEvents(source, request, 'list')
    const { showTrace } = await import('./trace-screen.ts')
    await showTrace(source, request)
  } finally {
    request?.stop()
    source.close()
  }
}

/** The messages are those of the reference (6.8). */
function checkOptions(invocation: Invocation): void {
  const resource = resourceArgument(invocation)
  portOption(invocation, 'proxy-admin-port', 1)
  if (!hasOption(invocation, 'file')) return
  if (resource !== undefined) throw new Error('--file does not accept a resource argument')
  for (const other of ['local', 'admin-url'])
    if (hasOption(invocation, other))
      throw new Error(`at most one of --file or --${other} may be passed`)
  if (hasOption(invocation, 'expression')) throw new Error('--file does not accept --expression')
  if (invocation.rest !== null) throw new Error('--file does not accept a request URL after --')
}

/** The request to send, or null if gwctl waits for a request of another client. */
function requestOf(invocation: Invocation): CurlRequest | null {
  const { rest } = invocation
  const port = portOption(invocation, 'port', 0)
  if (rest === null && port === 0) return null
  if (rest === null) throw new Error('--port requires a request URL after --')
  if (port === 0) throw new Error('a request URL requires --port')
  if (!hasUrl(rest))
    throw new Error('request args after -- must include at least one http:// or https:// URL')
  return new CurlRequest(port, rest, createTraceToken())
}

async function openSource(
  invocation: Invocation,
  request: CurlRequest | null,
): Promise<TraceSource> {
  const file = optionValue(invocation, 'file')
  if (file !== undefined) return openTraceFile(file)
  return openTraceStream(await adminAddress(invocation), {
    expression: optionValue(invocation, 'expression'),
    token: request?.token,
  })
}

/** `list` is for terminals that cannot show the interactive view. */
async function printEvents(
  source: TraceSource,
  request: CurlRequest | null,
  format: 'json' | 'list',
): Promise<void> {
  if (source.kind === 'live' && request === null && process.stderr.isTTY)
    process.stderr.write('waiting for a request…\n')
  const traced = new TracedRequest(source, request)
  const steps: Step[] = []
  let count = 0
  traced.start('print')
  for await (const line of source.lines) {
    traced.countEvent()
    count++
    if (format === 'list' && count <= MAX_STEPS) steps.push(stepOf(line))
    const text = format === 'json' ? jsonLine(line) : listLine(line, count)
    if (!process.stdout.write(text + '\n')) await once(process.stdout, 'drain')
  }
  await traced.finish()
  const outcome = format === 'list' ? explain(steps) : null
  if (outcome !== null) process.stdout.write(`\n${plain(sentenceOf(outcome))}\n`)
}

/** Unchanged, but without control characters if it goes to a terminal. */
function jsonLine(line: string): string {
  return process.stdout.isTTY ? plainJson(line) : line
}

function listLine(line: string, number: number): string {
  const { event } = stepOf(line)
  return plain(`${String(number).padStart(3)}  ${labelOf(event).padEnd(15)}  ${summaryOf(event)}`)
}
