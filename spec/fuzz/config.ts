// Fuzzing of configurations and expressions: each is accepted, or refused with a position, in bounded time.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { CelError } from '../../lib/expressions/expression-errors.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { jsonToCel } from '../../lib/expressions/json-values.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import { ConfigError } from '../../lib/config/config-error.ts'
import { parseConfig } from '../../lib/config/load.ts'
import type { Config } from '../../lib/config/config-types.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { RICH_CONFIG } from '../support/rich-config.ts'
import { ROOT } from '../support/root.ts'
import { changed, changes } from './mutate.ts'
import { target } from './target.ts'
import type { Claims } from '../../lib/core/facts.ts'

/** Far above the time of any input, far below that of an endless search. */
const MAX_MS = 10_000

const FOLDER = join(ROOT, 'examples')
const TEXTS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => readFileSync(join(FOLDER, name), 'utf8'))
const PIECES = [
  ...[
    '\n',
    '  ',
    '- ',
    ': ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '>',
    '&a ',
    '*a',
    '!!x ',
    '#',
    '\t',
  ],
  ...[
    'null',
    '~',
    '-1',
    '1e999',
    '0x10',
    'true',
    '[]',
    '{}',
    '""',
    '${X}',
    '${X',
    '<<: *policies',
    '? ',
  ],
  ...[
    '__proto__: 1',
    'constructor: {}',
    '---\n',
    '...\n',
    '%YAML 9\n',
    '\ufeff',
    '999999999999',
    '😀',
  ],
  ...[
    'routes:\n',
    'port: 70000',
    'port: 3000',
    '&a [*a, *a]',
    'a: &a {b: *a}',
    '  - {}\n',
    'nowhere',
  ],
]

function inBoundedTime<T>(work: () => T): T {
  const start = cpuMs()
  const result = work()
  assert.ok(cpuMs() - start < MAX_MS, 'took too long')
  return result
}

/** Null if the configuration was refused correctly. */
function load(text: string): Config | null {
  try {
    return parseConfig(text, { file: join(FOLDER, 'c.yaml'), env: {}, unenforced: 'allowed' })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    assert.ok(error.problems.length > 0)
    for (const { file, line, message } of error.problems) {
      assert.is.not(file, '')
      assert.is.not(message, '')
      assert.ok(line >= 0)
    }
    return null
  }
}

const configs = target(
  'accepts a configuration or reports the problem with its position',
  async () =>
    fc.asyncProperty(
      fc.constantFrom(RICH_CONFIG, ...TEXTS),
      changes(PIECES),
      async (text, made) => {
        inBoundedTime(() => load(changed(text, made)))
      },
    ),
)

/** Lines moved to other positions and indentations. */
const moved = target('handles lines in the wrong place', async () => {
  const line = fc.record({ from: fc.nat(), to: fc.nat(), shift: fc.integer({ min: -6, max: 6 }) })
  const moves = fc.array(line, { minLength: 1, maxLength: 4 })
  return fc.asyncProperty(fc.constantFrom(RICH_CONFIG, ...TEXTS), moves, async (text, made) => {
    const lines = text.split('\n')
    for (const { from, to, shift } of made) {
      const found = lines[from % lines.length] ?? ''
      const indent = Math.max(0, found.search(/\S|$/) + shift)
      lines.splice(to % lines.length, 0, ' '.repeat(indent) + found.trim())
    }
    inBoundedTime(() => load(lines.join('\n')))
  })
})

const EXPRESSIONS = [
  'request.method == "GET" && jwt.sub.startsWith("a") || request.path.matches("^/[a-z]+$")',
  'jwt.roles.exists(r, r == "admin") && size(jwt.roles) < 10 ? "x" : string(source.port)',
  '[1, 2, 3].map(x, x * 2).filter(x, x > 2).all(x, x in [4, 6]) && {"a": 1}.a == 1',
  'has(jwt.sub) && jwt.list[0] + 1 == 2 && toJson(jwt).contains("b") && !(1.5 > 2.0)',
]
const CEL_PIECES = [
  ...[
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '.',
    ',',
    '&&',
    '||',
    '!',
    '?',
    ':',
    '==',
    '+',
    '-',
    '*',
    '%',
  ],
  ...[
    '9223372036854775807',
    '-9223372036854775808',
    '1u',
    'b"a"',
    'r"\\"',
    '"""',
    '\\',
    '1e308',
    '0x',
  ],
  ...[
    'jwt',
    '.map(x, ',
    '.exists(x, ',
    '.all(x, true)',
    'size(',
    '"a" + ',
    '.matches("(a+)+$")',
    'dyn(',
  ],
  ...[
    '.replace("", "aaaa")',
    '.split("")',
    '.join("x")',
    'timestamp(',
    'duration("1h")',
    'null',
    'x',
  ],
]
const CLAIMS = { sub: 'abc', roles: ['admin', 'b'], list: [1, 'é', null], deep: { a: { b: 1 } } }

const rules = target(
  'compiles an expression or refuses it, and runs it within its budget',
  async () => {
    const view = new ExpressionView(exchangeOf(requestOf('GET /a HTTP/1.1', 'Host: a')), {
      jwt: jsonToCel(CLAIMS) as Claims,
    })
    const pieces = changes(CEL_PIECES, 6)
    return fc.asyncProperty(fc.constantFrom(...EXPRESSIONS, ''), pieces, async (text, made) => {
      inBoundedTime(() => {
        try {
          compileExpression(changed(text, made), 'log').evaluate(view)
        } catch (error) {
          if (!(error instanceof CelError)) throw error
        }
      })
    })
  },
)

export const CONFIG = [configs, moved, rules]
