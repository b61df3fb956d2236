import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MEASURES, parseOptions } from '../../perf/options.ts'

const options = suite('perf options')

options('measures everything and writes the results by default', () => {
  const parsed = parseOptions([])
  assert.equal(parsed.only, MEASURES)
  assert.is(parsed.write, true)
})

options('leaves the results alone after a partial or quick run unless told to write', () => {
  assert.is(parseOptions(['--only', 'sse,idle']).write, false)
  assert.is(parseOptions(['--quick']).write, false)
  assert.is(parseOptions(['--quick', '--write']).write, true)
})

options('takes the first word of a name for all measures that begin with it', () => {
  assert.equal(parseOptions(['--only', 'mcp']).only, ['mcp-busy', 'mcp-one', 'mcp-new'])
  assert.equal(parseOptions(['--only', 'sse,mcp-one']).only, ['sse', 'mcp-one'])
  const both = ['llm-sse', 'llm-small', 'llm-ttfb', 'limits-check', 'limits-keys']
  assert.equal(parseOptions(['--only', 'llm,limits']).only, both)
})

options('lets rounds and seconds override what quick chooses', () => {
  const parsed = parseOptions(['--quick', '--rounds', '2', '--seconds', '0.5'])
  assert.is(parsed.rounds, 2)
  assert.is(parsed.seconds, 0.5)
})

options('splits the command of the gateway into words', () => {
  const parsed = parseOptions(['--gateway-cmd', 'node  other.js'])
  assert.equal(parsed.gatewayCommand, ['node', 'other.js'])
})

options('refuses measures, numbers and options it does not know', () => {
  assert.throws(() => parseOptions(['--only', 'sse,nonsense']), /unknown measure "nonsense"/)
  assert.throws(() => parseOptions(['--only', 'mcp-']), /unknown measure "mcp-"/)
  assert.throws(() => parseOptions(['--rounds', 'many']), /--rounds: "many"/)
  assert.throws(() => parseOptions(['--seconds', '0']), /--seconds: "0"/)
  assert.throws(() => parseOptions(['--fast']))
})

options.run()
