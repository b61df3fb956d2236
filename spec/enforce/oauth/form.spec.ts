import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  singleFormValue,
  parseForm,
  formatForm,
  removeFormParts,
} from '../../../lib/enforce/oauth/tenant-endpoints.ts'

const form = suite('form')

const left = (text: string): string => formatForm(removeFormParts(parseForm(text), 'resource'))

form('removes every occurrence of a parameter, however it is encoded', () => {
  assert.is(left('resource=a&b=1&resource=c&resource'), 'b=1')
  assert.is(left('b=1&re%73ource=http%3A%2F%2Fa'), 'b=1')
  assert.is(left('%72%65%73%6F%75%72%63%65=a'), '')
})

form('keeps all other parameters byte for byte', () => {
  for (const text of [
    'code_challenge=E9Mel-hoa2_Ow~.&state=a%2Fb+c%20d&scope=x%20y&redirect_uri=http://127.0.0.1:1/cb?a=b',
    'resources=1&Resource=2&?resource=3&resource%00=4&%20resource=5',
    'a=1&&b=2&',
    '&',
    'a',
    '=',
    '%zz=%e9&%=%&a=\xe9\xff;"<>',
    '%0d%0aset-cookie:%20a=b=1&x=%0d%0a',
    '',
  ])
    assert.is(left(text), text, text)
})

form('returns the value of a parameter that occurs once', () => {
  assert.is(singleFormValue(parseForm('a=1&client_id=x'), 'client_id'), 'x')
  assert.is(singleFormValue(parseForm('client%5Fid=x%2By+z'), 'client_id'), 'x+y z')
  assert.is(singleFormValue(parseForm('client_id'), 'client_id'), '')
  assert.is(singleFormValue(parseForm('client_id=a=b'), 'client_id'), 'a=b')
  assert.is(singleFormValue(parseForm('client_id=%zz'), 'client_id'), '%zz')
})

form('returns null when the parameter is ambiguous', () => {
  for (const text of [
    '',
    'client=x',
    'client_id=x&client_id=x',
    'client_id=x&client%5Fid=y',
    'client_id=x&CLIENT_ID=y',
    'client_id=x&+client_id=y',
    'client_id=x&client_id%00=y',
    'Client_Id=x',
    'client_id%20=x',
  ])
    assert.is(singleFormValue(parseForm(text), 'client_id'), null, text)
})

form.run()
