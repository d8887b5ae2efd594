module github.com/rocinante-rdma/roce

go 1.25.0
