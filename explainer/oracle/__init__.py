"""What an edit must keep: checks of one run of an edited program beside the unedited one. Plain data in and out.

In the child, `observer.Observer` watches a run and tries the model with other inputs once it has ended. Outside,
`judge.judged` weighs what was seen: an edit may be refused, be in doubt, or have been tested in ways worth telling.
"""
