// gwctl proxy log: what a gateway logs, read or changed.

import { ask, told } from './admin.ts'
import { has, valueOf } from './command.ts'
import type { Call } from './command.ts'
import { print } from './output.ts'
import { targetOf } from './target.ts'

const SETTING = /^[^=,\s]+=[^=,\s]+$/

export async function log(call: Call): Promise<void> {
  const path = pathOf(call)
  const target = await targetOf(call)
  const method = path === '/logging' ? 'GET' : 'POST'
  const { status, statusText, body } = await ask(target, { method, path })
  if (status !== 200) throw new Error(`logging returned ${statusText}: ${told(body)}`)
  print(body.toString())
}

function pathOf(call: Call): string {
  const level = valueOf(call, 'level')
  const settings = call.options.get('set') ?? []
  if (level !== undefined && settings.length > 0)
    throw new Error('--level and --set are mutually exclusive')
  for (const setting of settings)
    if (!SETTING.test(setting)) throw new Error(`invalid --set ${setting}: expected module=level`)
  const query = [
    ...(has(call, 'reset') ? ['reset=true'] : []),
    ...(level === undefined ? [] : [`level=${encodeURIComponent(level)}`]),
    ...(settings.length === 0 ? [] : [`level=${encodeURIComponent(settings.join(','))}`]),
  ]
  return query.length === 0 ? '/logging' : `/logging?${query.join('&')}`
}
