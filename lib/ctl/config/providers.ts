// LLM backends of a dump in few words: who answers which model, and in which order they are asked.

import { each, fields, word } from './dump.ts'
import type { Fields } from './dump.ts'

/** `a=openAI gpt-4o, b=anthropic > c=mock`: behind `>` stand those that are asked when all before have failed. */
export function groupsText(groups: readonly unknown[]): string {
  return groups
    .map((group) =>
      each(group)
        .map((entry) => named(entry, kindOf(entry), entry))
        .join(', '),
    )
    .join(' > ')
}

/** `gpt-4o=openAI, fast=mock, smart=gpt-4o > fast`: models with their providers, then those made of others. */
export function modelsText(models: readonly unknown[], virtualModels: unknown): string {
  const listed = models.map(fields).map((model) => {
    const entry = fields(model['entry'])
    return named(model, word(entry['name'], kindOf(entry)), entry)
  })
  const mixed = each(virtualModels).map(({ name, routing }) => `${word(name)}=${mixText(routing)}`)
  return [...listed, ...mixed].join(', ') || '-'
}

/** The model is told where another one is asked than was asked for, the address where it is not the provider's own. */
function named({ name }: Fields, who: string, entry: Fields): string {
  const { provider, endpoint } = entry
  const { model } = fields(fields(provider)[kindOf(entry)])
  return [`${word(name)}=${who}`, word(model, ''), word(endpoint, '')].filter(Boolean).join(' ')
}

function kindOf({ provider }: Fields): string {
  return Object.keys(fields(provider))[0] ?? '-'
}

/** By preference `a > b`, by weight `a (2) | b (1)`, by conditions `a | b`. */
function mixText(routing: unknown): string {
  const [[kind, how] = ['', {}]] = Object.entries(fields(routing))
  const targets = each(fields(how)['targets'])
  if (kind === 'weighted')
    return targets.map(({ model, weight }) => `${word(model)} (${word(weight)})`).join(' | ')
  if (kind !== 'failover') return targets.map(({ model }) => word(model)).join(' | ')
  const levels = new Map<number, string[]>()
  for (const { model, priority } of targets) {
    const level = levels.get(Number(priority)) ?? []
    levels.set(Number(priority), [...level, word(model)])
  }
  const sorted = [...levels].toSorted(([a], [b]) => a - b)
  return sorted.map(([, level]) => level.join(' | ')).join(' > ')
}
