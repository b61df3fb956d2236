import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { parseCelJson } from '../../lib/expressions/json-values.ts'
import { findRuleViolation } from '../../lib/expressions/rules.ts'
import { ExpressionView } from '../../lib/expressions/exchange-view.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import type { Claims } from '../../lib/core/facts.ts'
import type { AuthorizationRule } from '../../lib/expressions/rules.ts'

const deciding = suite('rules')

const EXCHANGE = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: a'))

function viewOf(claims = '{}'): ExpressionView {
  return new ExpressionView(EXCHANGE, { jwt: parseCelJson(claims) as Claims })
}

/** Rules from lines such as `allow true` or `deny jwt.a`. */
function rulesOf(...lines: string[]): AuthorizationRule[] {
  return lines.map((line) => {
    const [, mode, source] = /^(\w+) (.*)$/.exec(line)!
    return {
      mode: mode as AuthorizationRule['mode'],
      expression: compileExpression(source!, 'rule'),
    }
  })
}

/** The result: null, the index of the violated rule, or 'none allows'. */
function decision(...lines: string[]): number | string | null {
  const rules = rulesOf(...lines)
  const violation = findRuleViolation(rules, viewOf())
  return violation === null || violation === 'none allows' ? violation : rules.indexOf(violation)
}

const MISSING = ['jwt.absent', 'jwt.absent.all(x, x)']
const ERRORS = ['1 / 0 == 1', '[true][1]', 'int("a") == 1', 'dyn("a") > 1', 'dyn(1)', 'dyn("true")']

deciding('requires that no deny holds, every require holds, and one allow if there are any', () => {
  const table: [rules: string[], expected: number | string | null][] = [
    [[], null],
    [['allow true'], null],
    [['allow false'], 'none allows'],
    [['allow false', 'allow true'], null],
    [['allow false', 'allow false'], 'none allows'],
    [['deny true'], 0],
    [['deny false'], null],
    [['deny false', 'deny true'], 1],
    [['allow true', 'deny true'], 1],
    [['deny true', 'allow true'], 0],
    [['deny false', 'allow false'], 'none allows'],
    [['require true'], null],
    [['require false'], 0],
    [['require true', 'require true'], null],
    [['require true', 'require false'], 1],
    [['require true', 'allow false'], 'none allows'],
    [['require false', 'allow true'], 0],
    [['allow true', 'require true', 'deny false'], null],
    [['allow true', 'require true', 'deny true'], 2],
  ]
  for (const [rules, expected] of table) assert.is(decision(...rules), expected, rules.join())
})

deciding('treats a fault, and any value that is not a bool, as not allowed', () => {
  for (const fault of [...MISSING, ...ERRORS]) {
    assert.is(decision(`allow ${fault}`), 'none allows', fault)
    assert.is(decision(`allow ${fault}`, 'allow true'), null, fault)
    assert.is(decision(`require ${fault}`), 0, fault)
  }
})

deciding('denies if a deny cannot be evaluated, but not if a value is missing', () => {
  for (const fault of MISSING) assert.is(decision(`deny ${fault}`), null, fault)
  for (const fault of ERRORS) assert.is(decision(`deny ${fault}`), 0, fault)
})

deciding('reports faults by code only', () => {
  const reported: string[] = []
  const rules = rulesOf(
    'deny jwt.absent == "a"',
    'deny jwt.sub == "x"',
    'allow jwt.sub + 1 == 2',
    'allow dyn("text")',
    'allow jwt.l[7] == 1',
    'allow true',
    'allow jwt.behind',
  )
  const view = viewOf('{"sub":"s3cr3t","l":["s3cr3t"]}')
  const onFault = ({ mode, expression }: AuthorizationRule, code: string): void =>
    void reported.push(`${mode} ${expression.source}: ${code}`)
  assert.is(findRuleViolation(rules, view, onFault), null)
  assert.equal(reported, [
    'deny jwt.absent == "a": no_such_key',
    'allow jwt.sub + 1 == 2: no_such_overload',
    'allow jwt.l[7] == 1: index_out_of_bounds',
  ])
})

deciding.run()
