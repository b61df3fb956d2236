// gwctl proxy trace: watches the next request, sends one to be watched, or shows a trace that was saved.

import { checkResource, targetOf } from '../target.ts'
import { has, portOf, valueOf } from '../command.ts'
import type { Call } from '../command.ts'
import { hasUrl, Sending } from './inject.ts'
import { printLines } from './lines.ts'
import { fromFile, fromGateway } from './source.ts'
import type { Source } from './source.ts'

/** Of the request that is sent, or null when somebody else's is awaited. */
type Injection = { readonly port: number; readonly args: readonly string[] } | null

export async function trace(call: Call): Promise<void> {
  check(call)
  const injection = injectionOf(call)
  const source = await sourceOf(call)
  const sending = injection === null ? null : new Sending(injection.port, injection.args)
  try {
    if (has(call, 'raw') || !process.stdout.isTTY) return await printLines(source, sending, 'json')
    if (process.env['TERM'] === 'dumb') return await printLines(source, sending, 'list')
    const { show } = await import('../screen/screen.ts')
    await show(source, sending)
  } finally {
    sending?.stop()
    source.close()
  }
}

/** The words are those that people know (reference 6.8). */
function check(call: Call): void {
  const resource = call.words.length > 0
  const hasFile = has(call, 'file')
  checkResource(call)
  if (hasFile && resource) throw new Error('--file does not accept a resource argument')
  if (hasFile && has(call, 'local'))
    throw new Error('at most one of --file or --local may be passed')
  if (hasFile && has(call, 'admin-url'))
    throw new Error('at most one of --file or --admin-url may be passed')
  if (hasFile && has(call, 'expression')) throw new Error('--file does not accept --expression')
  if (hasFile && call.rest !== null)
    throw new Error('--file does not accept a request URL after --')
  portOf(call, 'proxy-admin-port', 1)
}

function injectionOf(call: Call): Injection {
  const { rest } = call
  const port = portOf(call, 'port', 0)
  if (rest === null && port === 0) return null
  if (rest === null) throw new Error('--port requires a request URL after --')
  if (port === 0) throw new Error('a request URL requires --port')
  if (!hasUrl(rest))
    throw new Error('request args after -- must include at least one http:// or https:// URL')
  return { port, args: rest }
}

async function sourceOf(call: Call): Promise<Source> {
  const file = valueOf(call, 'file')
  if (file !== undefined) return fromFile(file)
  return fromGateway(await targetOf(call), valueOf(call, 'expression'))
}
